# curl has no WebSocket messages; wscat has: npm install --global wscat
# The cursor of the last notification is in a file: it outlives connections and this program.
while sleep 0.5; do
  CURSORS='"cursor":true'
  [ -s cursor.txt ] && CURSORS='"from":"'$(cat cursor.txt)'"'
  wscat --connect 'SLOTLINE_WS_URL' --wait 3600 \
    --execute '{"jsonrpc":"2.0","id":1,"method":"programSubscribe",
                "params":["TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
                          {"encoding":"base64",'"$CURSORS"'}]}' |
    # A `gapNotification` names slots that may be missing.
    while read -r LINE; do
      echo "$LINE"
      CURSOR=${LINE#*\"cursor\":\"}
      [ "$CURSOR" = "$LINE" ] || echo "${CURSOR%%\"*}" >cursor.txt
    done
done
