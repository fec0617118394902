#!/bin/sh
# A made-up day of a desk, always the same: posts-00.csv to posts-23.csv, backtest.csv, and in truth.csv what a person would find.
# Half of the posts' badness is seen by every classifier, each in its own units and with its own errors. `toxicity` is down from
# five to seven o'clock, `llm` comes at noon, and `rules` knows nothing.
exec awk '
    function even() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
    function bell(   i, sum) { sum = -6; for (i = 0; i < 12; i++) sum += even(); return sum }
    function share(x) { return x < 0 ? 0 : x > 1 ? 1 : x }
    function post(id, hour, file, verdict,   bad, spam, toxicity, reports, rules, llm, found) {
        bad = bell(); found = bad > 0.8 ? 1 : 0
        spam = share(0.4 + 0.15 * (bad + bell())); toxicity = share(0.5 + 0.15 * (bad + 0.7 * bell()))
        reports = int(3 * share(0.3 + 0.2 * (bad + 1.5 * bell())) + 0.5); rules = share(0.5 + 0.2 * bell())
        llm = share(0.5 + 0.2 * (bad + 0.3 * bell()))
        line = sprintf("%s,%.3f,", id, spam)
        if (hour != 7) line = line (hour == 5 || hour == 6 ? "," : sprintf("%.3f,", toxicity))
        line = line sprintf("%d,%.3f", reports, rules)
        if (hour >= 12) line = line sprintf(",%.3f", llm)
        print line (verdict ? "," found : "") > file
        if (!verdict) print id "," found > "truth.csv"
    }
    BEGIN {
        seed = 20260301
        print "post,violation" > "truth.csv"
        for (hour = 0; hour < 24; hour++) {
            file = sprintf("posts-%02d.csv", hour)
            print "post,spam," (hour == 7 ? "" : "toxicity,") "reports,rules" (hour >= 12 ? ",llm" : "") > file
            for (i = 1; i <= 40; i++) post(sprintf("p%02d-%02d", hour, i), hour, file, 0)
            close(file)
        }
        print "post,spam,toxicity,reports,rules,llm,violation" > "backtest.csv"
        for (i = 1; i <= 40; i++) post(sprintf("old-%02d", i), 12, "backtest.csv", 1)
    }'
