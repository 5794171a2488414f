# $TRANSACTION: signed, in base64, with both tips and a call of your program.
curl -s 'SLOTLINE_RPC_URL/relay-bundle' -H 'content-type: application/json' \
  -d '{"jsonrpc":"2.0","id":1,"method":"sendBundle",
       "params":[["'"$TRANSACTION"'"],{"encoding":"base64"}]}'
