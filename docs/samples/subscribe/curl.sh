# curl has no WebSocket messages; wscat has: npm install --global wscat
wscat --connect 'SLOTLINE_WS_URL' --wait 3600 \
  --execute '{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"}'
