/** Somebody who can sign in at the sandbox. */
export type IdentityUser = {
  readonly subject: string
  readonly email: string
  readonly name: string
  readonly password: string
}

/** The two people of the sandbox: one owns a pass and the tokens of sandbox.json, one rents. */
export const createIdentityUsers = (
  randomBytes: (byteCount: number) => Uint8Array,
): readonly [IdentityUser, IdentityUser] => {
  // Fresh at each start: others on the machine reach the port, but not sandbox.json.
  const password = (): string => Buffer.from(randomBytes(9)).toString('base64url')
  return [
    { subject: 'sandbox', email: 'ada@sandbox.example', name: 'Ada Pass', password: password() },
    { subject: 'renter', email: 'ben@sandbox.example', name: 'Ben Rental', password: password() },
  ]
}
