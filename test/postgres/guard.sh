# Owns a PostgreSQL server in the current folder, for a process that may die at any time. Each line of the input is a
# command, answered with its exit code; when the input ends, the server is stopped and the folder removed.

# The owner may be gone when an answer is written; that must not end this shell before it has cleaned up.
trap '' PIPE

# In the background, and this shell ends at once: Bun's --no-orphans kills all descendants, and a child that has lost
# its parent is none.
exec 3<&0
{
  while read -r line; do
    $line < /dev/null > output 2>&1
    echo $?
  done
  if read -r pid < data/postmaster.pid; then
    # Stopped processes would not hear that they shall end.
    kill -CONT "$pid" $(cat "/proc/$pid/task/$pid/children")
    pg_ctl stop -D data -m immediate
  fi
  rm -rf "$PWD"
} <&3 3<&- 2> /dev/null &
