/**
 * What to do where a certificate is not trusted, to be put behind the system's code for why there
 * is no answer; empty for any other code. `option` is the one to set.
 */
export const untrustedHint = (code: string, option: string): string =>
  /CERT|LEAF_SIGNATURE/.test(code)
    ? `, its certificate is not trusted: the PEM of its authority belongs into ${option}`
    : ''
