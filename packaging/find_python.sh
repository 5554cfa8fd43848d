#!/bin/sh
# Prints the first Python that Weir can use (3.11 or newer), or says how to get one.
# In sh, because without a Python nothing else can say it.

for python in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        echo "$python"
        exit 0
    fi
done

# Where there is a python3, it is too old: the system's default package would bring it again.
old=$(command -v python3)
if command -v apt-get >/dev/null; then
    if [ -n "$old" ]; then command="apt install python3.11 python3.11-venv"
    else command="apt install python3 python3-venv"; fi
elif command -v dnf >/dev/null; then
    if [ -n "$old" ]; then command="dnf install python3.11"; else command="dnf install python3"; fi
elif command -v zypper >/dev/null; then command="zypper install python311"
elif command -v pacman >/dev/null; then command="pacman -S python"
elif command -v brew >/dev/null; then command="brew install python"
elif command -v winget >/dev/null; then command="winget install Python.Python.3.13"
else command=""; fi

case $command in
    apt*|dnf*|zypper*|pacman*) [ "$(id -u)" = 0 ] || command="sudo $command" ;;
esac
echo "Weir needs Python 3.11 or newer, and none was found.${command:+ Install it with: $command}" >&2
exit 1
