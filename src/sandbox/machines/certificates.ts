import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const DAYS = '3650'
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

const openssl = (dir: string, ...args: readonly string[]): void => {
  const { error, status, stderr } = spawnSync('openssl', args, { cwd: dir, encoding: 'utf8' })
  if (error !== undefined) throw new Error('openssl is not installed: apt-get install openssl')
  if (status !== 0) throw new Error(`openssl: ${stderr.trim()}`)
}

/**
 * Makes an authority, and a certificate of it for each name, those that do not exist yet. Keys are
 * readable by this user only.
 */
export const ensureCertificates = (dir: string, names: readonly string[]): void => {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const has = (name: string): boolean => existsSync(join(dir, `${name}.pem`))
  if (!has('ca')) {
    const own = ['-subj', '/CN=slotline sandbox', '-keyout', 'ca.key', '-out', 'ca.pem']
    openssl(dir, 'req', '-x509', ...NEW_KEY, '-days', DAYS, ...own)
  }
  for (const name of names.filter(one => !has(one))) {
    const extensions = [
      `subjectAltName=DNS:localhost,IP:127.0.0.1,DNS:${name}`,
      'extendedKeyUsage=serverAuth,clientAuth',
    ]
    writeFileSync(join(dir, `${name}.ext`), extensions.join('\n'))
    const request = ['-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`]
    openssl(dir, 'req', ...NEW_KEY, ...request)
    const authority = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial']
    const files = ['-in', `${name}.csr`, '-extfile', `${name}.ext`, '-out', `${name}.pem`]
    openssl(dir, 'x509', '-req', '-days', DAYS, ...authority, ...files)
  }
}
