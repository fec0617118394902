#!/bin/sh
# The hours from one to another, as cron runs them: sh hours.sh 01 04. Only what is out of the ordinary is shown.
set -eu
for hour in $(seq -w "$1" "$2"); do
    sh people.sh "$hour"
    sh hour.sh "$hour" 2>messages || { cat messages; exit 1; }
    sed -n "s/^\(warning\|error\)/$hour:00 \1/p" messages
done
