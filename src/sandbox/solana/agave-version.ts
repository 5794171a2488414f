/** The release of Agave whose behaviour the dev chain follows. */
export const AGAVE_VERSION = '4.4.0'
