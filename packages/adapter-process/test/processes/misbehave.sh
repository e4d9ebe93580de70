# None of it lasts longer than some minutes, also when nobody ends it.
# A command that does what its first argument says: misbehave.sh <deed> <seconds> <file for its id>
echo $$ > "$3"
seconds=$2
answer() { printf '{"text":"Done.","usage":{"inputTokens":1,"outputTokens":1}}'; }
read_all() { cat > /dev/null; }
linger() { sleep 120; }
case $1 in
  answers) read_all; sleep "$seconds"; answer ;;
  calls)
    case $(cat) in
      *'<tool-result'*) answer ;;
      *) printf '{"toolCalls":[{"name":"count"},{"name":"count"}]}' ;;
    esac ;;
  speaks) read_all; printf 'Done.'; sleep "$seconds" ;;
  garbage) read_all; printf '\377\376\000' ;;
  halves) read_all; printf '{"text":"Do' ;;
  silent) read_all ;;
  exits) sleep "$seconds"; echo 'Something is missing.' >&2; exit 3 ;;
  ends_itself) sleep "$seconds"; kill -s TERM $$; linger ;;
  kills_itself) sleep "$seconds"; kill -s KILL $$ ;;
  is_killed) linger ;;
  floods) exec cat /dev/zero ;;
  floods_errors) read_all; head -c 4000000 /dev/zero >&2; answer ;;
  floods_both) head -c 9000000 /dev/zero >&2 & exec cat /dev/zero ;;
  closes_input) exec <&-; sleep "$seconds"; answer ;;
  leaves) read_all; sleep 120 & answer ;;
  leaves_stubborn) read_all; trap '' TERM; sleep 120 & answer ;;
  leaves_family) read_all; sh -c 'sh -c "sleep 120; :" & sleep 120; :' & answer ;;
  hangs) exec sleep 120 ;;
  waits) linger; answer ;;
  ignores) trap '' TERM; for i in $(seq 10); do sleep 120; done ;;
  closes_output) exec >&- 2>&-; sleep 120; : ;;
  stops) kill -s STOP $$; linger ;;
  respawns) trap 'sleep 120 & sleep 120 & wait' TERM; for i in $(seq 6000); do sleep 0.01; done ;;
  drips) for i in $(seq 6000); do printf x; echo x >&2; sleep 0.01; done ;;
  hangs_with_family) trap '' TERM; sh -c 'sleep 120 & sleep 120; :' & linger ;;
esac
