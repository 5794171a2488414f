import { inspect } from 'node:util'

/**
 * Prefix of every location token, by which scanners and the log filter find leaked ones.
 */
export const TOKEN_PREFIX = 'slt_'

/** Prefix of the admin token. */
export const ADMIN_TOKEN_PREFIX = 'sla_'

/** Prefix of API keys, which holders make for programs. */
export const API_KEY_PREFIX = 'slk_'

/** Printed in place of a secret. */
export const REDACTED = '[redacted]'

/**
 * A text that must not be printed by accident: JSON, string conversion and `inspect` show a
 * placeholder. Only `reveal` returns the text, so that its uses can be searched for.
 */
export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  reveal(): string {
    return this.#text
  }

  toString(): string {
    return REDACTED
  }

  toJSON(): string {
    return REDACTED
  }

  [inspect.custom](): string {
    return REDACTED
  }
}
