#!/bin/sh
# Stands in for the people of the desk: `sh people.sh 09` writes what they have found by nine o'clock. They look at three of the six
# picks of an hour within the hour, and at the others four hours later.
look() {
    [ "$1" -lt 0 ] || [ "$1" -gt 23 ] || awk -v first="$2" -v last="$3" '
        FNR == NR { split($0, row, ","); truth[row[1]] = row[2]; next }
        match($0, /p[0-9][0-9]-[0-9][0-9]/) { if (++pick >= first && pick <= last) { id = substr($0, RSTART, RLENGTH); print id "," truth[id] } }
    ' truth.csv "picks-$(printf %02d "$1").csv"
}
hour=${1#0}
{ echo post,violation; look $((hour - 1)) 1 3; look $((hour - 5)) 4 6; } > "verdicts-$1.csv"
