# $TRANSACTION: signed, in base64, with a transfer of the tip floor to a tip account.
curl -s 'SLOTLINE_RPC_URL/lander' -H 'content-type: application/json' \
  -d '{"jsonrpc":"2.0","id":1,"method":"sendTransaction",
       "params":["'"$TRANSACTION"'",{"encoding":"base64"}]}'
