#!/bin/sh
# The rows that somebody checked.
grep -v '"correct": null' grades.jsonl > checked.jsonl
