# Runs suites, adds up what they say of themselves, and prints the sum. Sourced by `run`.

passed=0
failed=0
# Suites that could not run here.
skipped=()
# For each suite that left out tests of its own: its name, and a line for each reason.
left_out=()

section() { printf '\n=== %s\n' "$*"; }

# One check that has no counts of its own: its exit status is its result.
step() {
  section "$1"
  shift
  if "$@"; then passed=$((passed + 1)); else
    echo "FAILED: $*"
    failed=$((failed + 1))
  fi
}

# A test run: adds the counts it prints ("N passed | M failed" or "N passed, M failed"); one that prints none has failed.
suite() {
  section "$1"
  local title=$1 log counts reasons status
  shift
  log=$(mktemp)
  "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  counts=$(grep -Eo '[0-9]+ passed( \([0-9]+ steps?\))?[,|]? ?\|? ?[0-9]+ failed' "$log" | tail -n 1)
  reasons=$(skips_in "$log")
  [ -z "$reasons" ] || left_out+=("$title:"$'\n'"$reasons")
  rm -f "$log"
  local p f
  p=$(grep -Eo '^[0-9]+' <<<"$counts")
  f=$(grep -Eo '[0-9]+ failed' <<<"$counts" | grep -Eo '^[0-9]+')
  passed=$((passed + ${p:-0}))
  failed=$((failed + ${f:-0}))
  if [ -z "$counts" ] || { [ "$status" -ne 0 ] && [ "${f:-0}" -eq 0 ]; }; then
    echo "FAILED (status $status, no failure counted): $*"
    failed=$((failed + 1))
  fi
}

# Why tests of a run were skipped, with how many of them for each reason: from the names of ignored tests, which end with
# it, and from what tests say themselves ("SKIPPED: reason", "SKIP name (reason)").
skips_in() {
  awk '
    { sub(/\r$/, "") }
    / \.\.\. ignored \([^()]*\)$/ {
      sub(/ \.\.\. ignored \([^()]*\)$/, "")
      if (match($0, /\((SKIPPED|skipped): .*\)$/)) count[substr($0, RSTART + 10, RLENGTH - 11)]++
      else {
        sub(/^.* => /, "")
        sub(/^ +/, "")
        if (unnamed++ == 0) first = $0
      }
      next
    }
    sub(/^SKIPPED[:,] /, "") { count[$0]++; next }
    sub(/^SKIP /, "") { count[$0]++; next }
    # Areas of a suite that gives no reasons: "fs   12 passed, 3 skipped".
    / passed.*, [0-9]+ skipped$/ { count["no reason given: " $1] += $(NF - 1) }
    END {
      for (reason in count) printf "%5d  %s\n", count[reason], reason
      if (unnamed > 0) printf "%5d  no reason in the name, the first is: %s\n", unnamed, first
    }' "$1" | sort -k1,1rn -k2
}

# Something that cannot run here. Named where it would have run, and again at the end.
skip() {
  section "SKIPPED: $*"
  skipped+=("$*")
}

# What did not run, and the counts in the last line. Its status is the result of everything.
sum_up() {
  section "after $((SECONDS / 60)) min, ${#skipped[@]} suites skipped"
  [ "${#skipped[@]}" -eq 0 ] || printf '%s\n' "${skipped[@]}"
  if [ "${#left_out[@]}" -gt 0 ]; then
    section "tests skipped inside suites that ran"
    printf '%s\n' "${left_out[@]}"
  fi
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
