/** The `sub` claim of the sandbox's operator. */
export const SANDBOX_OPERATOR = 'operator'

/** A user who can sign in. */
export type IdentityUser = {
  readonly subject: string
  readonly email: string
  /** Default: it is. */
  readonly isEmailVerified?: boolean
  readonly name: string
  readonly password: string
}

/**
 * The users of the sandbox: one has a pass and the tokens of sandbox.json, one a rental, and one is
 * its operator.
 */
export const createIdentityUsers = (
  randomBytes: (byteCount: number) => Uint8Array,
): readonly [IdentityUser, IdentityUser, IdentityUser] => {
  // New at each start: other users of the machine reach the port, but cannot read sandbox.json.
  const password = (): string => Buffer.from(randomBytes(9)).toString('base64url')
  return [
    { subject: 'sandbox', email: 'ada@sandbox.example', name: 'Ada Pass', password: password() },
    { subject: 'renter', email: 'ben@sandbox.example', name: 'Ben Rental', password: password() },
    {
      subject: SANDBOX_OPERATOR,
      email: 'olga@sandbox.example',
      name: 'Olga Operator',
      password: password(),
    },
  ]
}
