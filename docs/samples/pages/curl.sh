# $WALLET: an address, whose token accounts are listed.
KEY=null
while [ -n "$KEY" ]; do
  PAGE=$(curl -s 'SLOTLINE_RPC_URL' -H 'content-type: application/json' \
    -d '{"jsonrpc":"2.0","id":1,"method":"getTokenAccountsByOwnerV2",
         "params":["'"$WALLET"'",{"programId":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"},
                   {"limit":1000,"paginationKey":'"$KEY"'}]}')
  echo "$PAGE"
  # The last page has no key.
  KEY=$(echo "$PAGE" | sed -n 's/.*"paginationKey":\("[^"]*"\).*/\1/p')
done
