import type { Declaration } from './declaration.js'

/** Where the credential of an upstream is sent. */
export const credentialOptions = {
  credentialIn: {
    default: 'header',
    words: ['header', 'query'],
    why: 'Where the credential is sent: header or query.',
  },
  credentialName: { default: 'x-api-key', why: 'Name of the header or query parameter.' },
} satisfies Declaration
