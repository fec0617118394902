#!/bin/sh
# Made-up grades, always the same: 240 answers of a model, graded by three language models in grades.jsonl (as Python's json module
# writes them: a gap is NaN) and by a panel of people in panel.csv, one grade a line. `correct` is known where somebody checked.
exec awk '
    function even() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
    function bell(   i, sum) { sum = -6; for (i = 0; i < 12; i++) sum += even(); return sum }
    function mark(x) { x = int(x + 0.5); return x < 1 ? 1 : x > 5 ? 5 : x }
    BEGIN {
        seed = 20260302
        print "answer,judge,grade" > "panel.csv"
        for (i = 1; i <= 240; i++) {
            id = sprintf("a%03d", i); good = bell()
            gpt = sprintf("%.1f", 3 + 0.8 * good + 0.6 * bell()); claude = mark(3.2 + good + 0.5 * bell())
            llama = even() < 0.15 ? "NaN" : mark(3.5 + 0.2 * good + 1.1 * bell())
            correct = even() < 0.6 ? (good + 0.4 * bell() > 0.3 ? "true" : "false") : "null"
            printf "{\"answer\": \"%s\", \"scores\": {\"gpt\": %s, \"claude\": %s, \"llama\": %s}, \"created_at\": %d, \"correct\": %s}\n", \
                id, gpt, claude, llama, 1767225600 + 60 * i, correct > "grades.jsonl"
            if (i <= 60) {
                print id ",ann," mark(3 + good + 0.6 * bell()) > "panel.csv"
                print id ",ben," mark(3 + good + 0.8 * bell()) > "panel.csv"
                if (even() < 0.7) print id ",cleo," mark(3 + good + 0.5 * bell()) > "panel.csv"
            }
        }
    }'
