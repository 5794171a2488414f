// npm install @solana/kit
import { createSolanaRpcSubscriptions } from '@solana/kit'

const subscriptions = createSolanaRpcSubscriptions('SLOTLINE_WS_URL')
const abortSignal = new AbortController().signal
const slots = await subscriptions.slotNotifications().subscribe({ abortSignal })
for await (const { slot, root } of slots) console.log(slot, root)
