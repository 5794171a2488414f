/** Webhooks of one access: each may have 20 messages of 2 KiB that are still to be sent. */
export const WEBHOOKS_MAX = 8
