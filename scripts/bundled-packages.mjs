/**
 * Packages of npm that are installed where the service runs: with binaries, and the sandbox's
 * identity provider, which reads files of its own. The programs contain the other ones.
 */
export const NOT_BUNDLED = ['litesvm', 'lmdb', 'msgpackr', 'oidc-provider']
