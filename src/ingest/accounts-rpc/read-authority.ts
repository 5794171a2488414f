import { readFileSync } from 'node:fs'
import { explainError } from '../../shared/files/system-error.js'

/**
 * Reads the PEM of a certificate authority. `option` names the file in errors; throws if the file
 * is unusable.
 */
export const readAuthority = (file: string, option: string): string => {
  let pem: string
  try {
    pem = readFileSync(file, 'utf8')
  } catch (error) {
    const why = explainError(error)
    throw new Error(`${option} cannot be read: ${why}`, { cause: error })
  }
  if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem
  throw new Error(`${option}: ${file} contains no certificate in PEM`)
}
