/** A user who can sign in. */
export type IdentityUser = {
  readonly subject: string
  readonly email: string
  readonly name: string
  readonly password: string
}

/** The two users of the sandbox: one has a pass and the tokens of sandbox.json, one a rental. */
export const createIdentityUsers = (
  randomBytes: (byteCount: number) => Uint8Array,
): readonly [IdentityUser, IdentityUser] => {
  // New at each start: other users of the machine reach the port, but cannot read sandbox.json.
  const password = (): string => Buffer.from(randomBytes(9)).toString('base64url')
  return [
    { subject: 'sandbox', email: 'ada@sandbox.example', name: 'Ada Pass', password: password() },
    { subject: 'renter', email: 'ben@sandbox.example', name: 'Ben Rental', password: password() },
  ]
}
