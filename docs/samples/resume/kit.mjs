// npm install @solana/kit
import { address, createSolanaRpcSubscriptions } from '@solana/kit'

/** Yields each notification of a subscription once, and reconnects; reports what is missing. */
async function* resumed(subscribe, onGap) {
  let from
  for (;;) {
    try {
      const options = from === undefined ? { cursor: true } : { from }
      for await (const notification of await subscribe(options)) {
        from = notification.context?.cursor ?? notification.cursor
        if (notification.gap) onGap(notification.gap)
        else yield notification
      }
    } catch (error) {
      console.error(`connects again: ${error.message}`)
    }
    await new Promise(resolve => setTimeout(resolve, 500))
  }
}

const subscriptions = createSolanaRpcSubscriptions('SLOTLINE_WS_URL')
const program = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA')
const { signal: abortSignal } = new AbortController()
const changes = resumed(
  cursors =>
    subscriptions
      .programNotifications(program, { commitment: 'confirmed', encoding: 'base64', ...cursors })
      .subscribe({ abortSignal }),
  ({ from, to, reason }) => console.error(`slots ${from} to ${to} may be missing: ${reason}`),
)
for await (const { context, value } of changes) console.log(`${context.slot} ${value.pubkey}`)
