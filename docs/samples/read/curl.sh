curl -s 'SLOTLINE_RPC_URL' -H 'content-type: application/json' \
  -d '{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}'
