#!/bin/sh
# Every hour, by cron: sh hour.sh 09
set -eu
if [ -e review.json ]; then
    jurybox learn --picks 'picks-*.csv' --verdicts 'verdicts-*.csv' --id post --reward violation --state review.json
fi
if [ ! -e "picks-$1.csv" ]; then
    jurybox pick "posts-$1.csv" -k 6 --id post --state review.json --policy "adaptive(audit=0.25)" --out "picks-$1.csv"
fi
