#!/bin/sh
# Runs Slotline with the Node.js of this package.
root=$(dirname "$(dirname "$(readlink -f "$0")")")
exec "$root/bin/node" "$root/dist/main.js" "$@"
