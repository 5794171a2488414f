import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ownDir } from '../fixtures/own-dir.js'
import { repositoryPath, repositoryUrl } from '../fixtures/repository.js'

const read = (path: string): string => readFileSync(repositoryPath(path), 'utf8')

type Component = {
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[]
}
type Sbom = {
  readonly bomFormat: string
  readonly specVersion: string
  readonly components: readonly Component[]
}
type Create = (parts: object) => Sbom
type Linked = (root: string, pages: readonly string[]) => readonly string[]

const load = async <T>(path: string, name: string): Promise<T> =>
  ((await import(repositoryUrl(path).href)) as Readonly<Record<string, T>>)[name] as T

const manifest = JSON.parse(read('package.json')) as {
  readonly dependencies: Readonly<Record<string, string>>
}

const make = async (changed: object = {}): Promise<Sbom> => {
  const create = await load<Create>('scripts/sbom.mjs', 'createSbom')
  return create({
    name: 'slotline',
    version: '0.1.0',
    commit: 'abc',
    node: '24.1.0',
    npm: {
      lock: JSON.parse(read('package-lock.json')),
      folders: Object.keys(manifest.dependencies).map(name => `node_modules/${name}`),
    },
    crates: { lock: read('native/Cargo.lock'), root: 'addon' },
    server: { lock: read('native/uws/sources/Cargo.lock'), crate: 'libuwebsockets-sys' },
    ...changed,
  })
}

t.test('the bill of materials names every package with its version and digest', async t => {
  const { bomFormat, specVersion, components } = await make()
  t.strictSame([bomFormat, specVersion], ['CycloneDX', '1.6'])
  const purls = components.map(({ purl }) => purl)
  t.equal(new Set(purls).size, purls.length, 'each once')
  t.strictSame(purls, purls.toSorted())
  for (const purl of [
    'pkg:generic/node@24.1.0',
    'pkg:npm/%40hono/node-server@',
    'pkg:cargo/heed@',
    'pkg:cargo/napi@',
    'pkg:cargo/libuwebsockets-sys@',
  ])
    t.equal(purls.filter(each => each.startsWith(purl)).length, 1, purl)
  t.notOk(
    purls.some(purl => /cargo\/(addon|edge|store|uws)@/.test(purl)),
    'what is our own is not',
  )
  for (const { hashes, name, purl } of components)
    if (name !== 'node')
      t.match(hashes, [{ alg: /^SHA-\d+$/, content: /^[0-9a-f]{40,128}$/ }], purl)
  t.strictSame(await make(), await make(), 'it is the same each time')
})

t.test('a package that a lock file does not have is refused', async t => {
  const lock = JSON.parse(read('package-lock.json'))
  await t.rejects(
    make({ npm: { lock, folders: ['node_modules/none'] } }),
    /has no node_modules\/none/,
  )
  const crates = { lock: read('native/Cargo.lock'), root: 'none' }
  await t.rejects(make({ crates }), /Cargo\.lock has no none/)
})

t.test('every page that the pages of a package link is found', async t => {
  const linkedFiles = await load<Linked>('scripts/page-links.mjs', 'linkedFiles')
  const found = linkedFiles(repositoryPath('.'), [
    'docs/operations/README.md',
    'docs/configuration.md',
  ])
  for (const page of ['docs/operations/install.md', 'docs/access.md', 'docs/contract.md'])
    t.ok(found.includes(page), page)

  const dir = ownDir(t)
  mkdirSync(join(dir, 'docs'))
  writeFileSync(
    join(dir, 'docs/a.md'),
    '[b](b.md#x) [a](#y) [web](https://example.com) ![i](../i.png)',
  )
  writeFileSync(join(dir, 'docs/b.md'), '[a](a.md) [folder](./)')
  writeFileSync(join(dir, 'i.png'), '')
  t.strictSame(linkedFiles(dir, ['docs/a.md']), ['docs/', 'docs/a.md', 'docs/b.md', 'i.png'])
  writeFileSync(join(dir, 'docs/b.md'), '[c](c.md)')
  t.throws(() => linkedFiles(dir, ['docs/a.md']), /docs\/b\.md links docs\/c\.md, which does not/)
  writeFileSync(join(dir, 'docs/b.md'), '[c](../../../etc/passwd)')
  t.throws(() => linkedFiles(dir, ['docs/a.md']), /which does not exist/)
})
