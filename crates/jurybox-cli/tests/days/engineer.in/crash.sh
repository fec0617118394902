#!/bin/sh
# The machine dies while the posts of an hour come in: the job has read half of them, and is killed as hard as can be.
mkfifo posts
jurybox pick - -k 6 --id post --state review.json --out "picks-$1.csv" <posts 2>/dev/null &
exec 3>posts
head -n 20 "posts-$1.csv" >&3
kill -KILL $!
wait $! 2>/dev/null
rm posts
ls "picks-$1.csv" 2>/dev/null || echo "no picks-$1.csv"
