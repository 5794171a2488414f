import { inspect } from 'node:util'

/**
 * What every location token starts with, so that a scanner (and our own log filter) can find a
 * leaked one.
 */
export const TOKEN_PREFIX = 'slt_'

/** The same of the admin token. */
export const ADMIN_TOKEN_PREFIX = 'sla_'

/** What stands in for a secret wherever one would be printed. */
export const REDACTED = '[redacted]'

/**
 * A text that must not be printed by accident: JSON, string conversion and `inspect` show a
 * placeholder. `reveal` is the only way to the text, so that its uses can be searched for.
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
