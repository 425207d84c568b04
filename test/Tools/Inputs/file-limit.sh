# Runs a command that may write files of at most the given number of kilobytes, and
# prints its exit code.
ulimit -f "$1"
shift
"$@"
echo "exit code $?"
