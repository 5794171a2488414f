/**
 * Remedy for an untrusted certificate, to be appended to the system's error code; empty for any
 * other code. `option` is the option to set.
 */
export const untrustedHint = (code: string, option: string): string =>
  /CERT|LEAF_SIGNATURE/.test(code)
    ? `, its certificate is not trusted: the PEM of its authority belongs into ${option}`
    : ''
