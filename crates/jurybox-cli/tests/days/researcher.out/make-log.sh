#!/bin/sh
# A made-up log, always the same: 150 rounds of 20 items with four evaluators. The log looked at 3 of each round: the best by `e1`, or,
# in half of the rounds, any three. So an item was looked at with probability 0.5 * 3/20, and 0.5 more where it was among the best three.
exec awk '
    function even() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
    function bell(   i, sum) { sum = -6; for (i = 0; i < 12; i++) sum += even(); return sum }
    BEGIN {
        seed = 20260303
        print "item,e1,e2,e3,e4,round,probability,reward" > "log.csv"
        print "item,e1,e2,e3,e4,round,probability,reward" > "greedy.csv"
        print "item,e1,e2,e3,e4,reward" > "labelled.csv"
        for (round = 1; round <= 150; round++) {
            explores = even() < 0.5
            for (i = 1; i <= 20; i++) {
                worth[i] = bell(); found[i] = worth[i] + 0.3 * bell() > 0.9 ? 1 : 0
                e1[i] = sprintf("%.2f", worth[i] + 1.5 * bell()); e2[i] = sprintf("%.2f", 5 + 2 * worth[i] + 1.2 * bell())
                e3[i] = sprintf("%.2f", worth[i] + 0.8 * bell()); e4[i] = sprintf("%.2f", bell())
                draw[i] = even()
            }
            for (i = 1; i <= 20; i++) {
                better = 0; drawn = 0
                for (j = 1; j <= 20; j++) {
                    better += e1[j] + 0 > e1[i] + 0 || (e1[j] + 0 == e1[i] + 0 && j < i)
                    drawn += draw[j] < draw[i]
                }
                looked = explores ? drawn < 3 : better < 3
                scores = sprintf("r%d-%d,%s,%s,%s,%s", round, i, e1[i], e2[i], e3[i], e4[i])
                print scores "," round "," (better < 3 ? 0.575 : 0.075) "," (looked ? found[i] : "") > "log.csv"
                # The same log without chance: the rounds that did not explore, and the probabilities of a policy that never does.
                if (!explores) print scores "," round "," (better < 3 ? 1 : "") "," (looked ? found[i] : "") > "greedy.csv"
                if (round <= 30) print scores "," found[i] > "labelled.csv"
            }
        }
    }'
