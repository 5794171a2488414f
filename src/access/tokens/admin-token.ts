import { existsSync } from 'node:fs'
import { replaceFileDurably } from '../../shared/files/atomic-file.js'
import { ADMIN_TOKEN_PREFIX, Secret } from '../../shared/secret.js'
import { readPrivateFile } from '../store/private-file.js'
import type { RandomBytes } from './location-token.js'

/** 256 bits. */
const TOKEN_BYTES = 32
const WELL_FORMED = /^sla_[A-Za-z0-9_-]{32,128}$/

/**
 * Reads the bearer token of the admin API from its file. The error message says how to fix the
 * file, and does not contain the token.
 */
export const readAdminToken = (file: string): Secret => {
  const text = readPrivateFile(file)
  if (text === undefined) throw new Error(`${file} can be read by others; run: chmod 600 ${file}`)
  if (WELL_FORMED.test(text)) return new Secret(text)
  throw new Error(
    `${file} is no admin token (sla_ and 32 to 128 of A–Z a–z 0–9 - _); remove it, and start again`,
  )
}

/** A new admin token. */
export const createAdminToken = (randomBytes: RandomBytes): string =>
  ADMIN_TOKEN_PREFIX + Buffer.from(randomBytes(TOKEN_BYTES)).toString('base64url')

/** Replaces the file; the token in it is on disk when this returns. */
export const writeAdminToken = (file: string, token: string): void =>
  replaceFileDurably(file, `${token}\n`)

/** As `readAdminToken`; creates the file if it is absent. */
export const ensureAdminToken = (file: string, randomBytes: RandomBytes): Secret => {
  if (!existsSync(file)) writeAdminToken(file, createAdminToken(randomBytes))
  return readAdminToken(file)
}
