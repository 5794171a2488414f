/** The software bill of materials of a package: CycloneDX 1.6, from the lock files. */

/** The packages of a Cargo.lock by name; a name may have several versions. */
const parseCargoLock = text => {
  const packages = text
    .split('[[package]]')
    .slice(1)
    .map(block => {
      const valueOf = key => new RegExp(`^${key} = "(.*)"$`, 'm').exec(block)?.[1]
      const [, list = ''] = /^dependencies = \[([^\]]*)\]/m.exec(block) ?? []
      const dependencies = Array.from(list.matchAll(/"([^"]+)"/g), ([, entry]) => entry)
      const [name, version] = [valueOf('name'), valueOf('version')]
      return { name, version, checksum: valueOf('checksum'), dependencies }
    })
  const byName = new Map()
  for (const each of packages) byName.set(each.name, [...(byName.get(each.name) ?? []), each])
  return byName
}

/** What a crate of a Cargo.lock needs, itself included. */
const cratesOf = (text, root) => {
  const byName = parseCargoLock(text)
  const found = new Set()
  const visit = entry => {
    // A name with a version where there are several.
    const [name, version] = entry.split(' ')
    const crate = byName.get(name)?.find(each => version === undefined || each.version === version)
    if (crate === undefined) throw new Error(`Cargo.lock has no ${entry}`)
    if (found.has(crate)) return
    found.add(crate)
    for (const each of crate.dependencies) visit(each)
  }
  visit(root)
  return [...found]
}

const component = ({ type = 'library', name, version, purl, hash, license }) => ({
  type,
  'bom-ref': purl,
  name,
  version,
  ...(hash === undefined ? {} : { hashes: [hash] }),
  // An expression, or what npm has in its place, which is no identifier of SPDX.
  ...(license === undefined ? {} : { licenses: [{ license: { name: license } }] }),
  purl,
})

const toCrate = ({ name, version, checksum }) =>
  component({
    name,
    version,
    purl: `pkg:cargo/${name}@${version}`,
    hash: { alg: 'SHA-256', content: checksum },
  })

const HASHES = { sha512: 'SHA-512', sha384: 'SHA-384', sha256: 'SHA-256', sha1: 'SHA-1' }

const toHash = integrity => {
  const [, algorithm, base64] = /^(sha\d+)-([A-Za-z0-9+/=]+)/.exec(integrity ?? '') ?? []
  if (algorithm === undefined) return undefined
  return { alg: HASHES[algorithm], content: Buffer.from(base64, 'base64').toString('hex') }
}

/** A package in `folder` of node_modules/, as package-lock.json has it. */
const toNpm = (lock, folder) => {
  const locked = lock.packages[folder]
  if (locked === undefined) throw new Error(`package-lock.json has no ${folder}`)
  // An alias is in the folder of its other name.
  const name = locked.name ?? folder.slice(folder.lastIndexOf('node_modules/') + 13)
  const { version, integrity, license } = locked
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return component({ name, version, purl, hash: toHash(integrity), license })
}

/**
 * Names everything that a package has of others: packages of npm by their folders, crates that the
 * addon is built from (those of build scripts, too), the crate with the sources of the server, and
 * Node.js. The same inputs make the same bytes.
 */
export const createSbom = ({ name, version, commit, node, npm, crates, server }) => {
  const all = [
    component({
      type: 'platform',
      name: 'node',
      version: node,
      purl: `pkg:generic/node@${node}`,
    }),
    ...npm.folders.map(folder => toNpm(npm.lock, folder)),
    ...cratesOf(crates.lock, crates.root)
      .filter(({ checksum }) => checksum !== undefined)
      .map(toCrate),
    ...cratesOf(server.lock, server.crate)
      .filter(crate => crate.name === server.crate)
      .map(toCrate),
  ]
  const byPurl = new Map(all.map(each => [each.purl, each]))
  const components = [...byPurl.values()].toSorted((one, other) => (one.purl < other.purl ? -1 : 1))
  const own = `pkg:generic/${name}@${version}`
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': own,
        name,
        version,
        purl: own,
        properties: [{ name: 'commit', value: commit }],
      },
    },
    components,
    dependencies: [{ ref: own, dependsOn: components.map(each => each['bom-ref']) }],
  }
}
