import fc from 'fast-check'
import t from 'tap'
import { hasRepeatedMember } from '../../src/submission/repeated-members.js'

t.test('an object with two members of one name is found at any depth', t => {
  const cases: [name: string, text: string, isRepeated: boolean][] = [
    ['an empty object', '{}', false],
    ['other names', '{"a":1,"b":1}', false],
    ['names in other letters', '{"a":1,"A":1}', false],
    ['at the top', '{"a":1,"a":1}', true],
    ['not one after the other', '{"a":1,"b":[{},[]],"a":1}', true],
    ['in an element', '[1,{"a":1,"a":2}]', true],
    ['in a member', '{"p":[["x"],{"e":1,"e":2}]}', true],
    ['deep', '{"a":{"a":{"a":{"a":1,"a":2}}}}', true],
    ['nested, each once', '{"a":{"a":{"a":[{"a":1},{"a":2}]}}}', false],
    ['escaped', '{"encoding":1,"\\u0065ncoding":2}', true],
    ['escaped in both', '{"\\u0061":1,"\\u0061":2}', true],
    ['a quote in a name', '{"a\\"":1,"a\\u0022":2}', true],
    ['a backslash at the end', '{"a\\\\":1,"a":2}', false],
    ['a slash', '{"a/b":1,"a\\/b":2}', true],
    ['a name beyond ASCII', '{"é":1,"\\u00e9":2}', true],
    ['a name beyond 16 bits', '{"😀":1,"\\ud83d\\ude00":2}', true],
    ['an empty name', '{"":1,"":2}', true],
    ['names of prototypes', '{"__proto__":1,"constructor":2}', false],
    ['a prototype twice', '{"__proto__":1,"__proto__":2}', true],
    ['a value like a name', '{"a":"b","b":"a","c":"a"}', false],
    ['equal strings of an array', '["a","a"]', false],
    ['an array in an object', '{"a":["a","b","a"],"b":"a"}', false],
    ['blanks everywhere', ' {\n"a" : 1 ,\t"b" : { } , "a"\r: 2 } ', true],
    ['brackets in strings', '{"a":"{\\"a\\":1,","b":"]}"}', false],
    ['a string', '"a"', false],
    ['a number', '1', false],
  ]
  for (const [name, text, isRepeated] of cases) {
    JSON.parse(text)
    t.equal(hasRepeatedMember(text), isRepeated, name)
  }
  t.end()
})

/** A value as a list of its members, so that names may be repeated. */
type Value =
  | { readonly kind: 'leaf'; readonly text: string }
  | { readonly kind: 'array'; readonly elements: readonly Value[] }
  | {
      readonly kind: 'object'
      readonly members: readonly (readonly [name: string, spelling: readonly boolean[], Value])[]
    }

const anyName = fc.constantFrom('', 'a', 'ab', 'é', '"', '\\', '{', '],', '\n', '😀', '__proto__')

const { value: anyValue } = fc.letrec<{ value: Value }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.record({
      kind: fc.constant('leaf' as const),
      text: fc.oneof(
        fc.constantFrom('1', 'null', '-2.5e3', 'true'),
        anyName.map(name => JSON.stringify(name)),
      ),
    }),
    fc.record({
      kind: fc.constant('array' as const),
      elements: fc.array(tie('value'), { maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant('object' as const),
      members: fc.array(fc.tuple(anyName, fc.array(fc.boolean(), { maxLength: 3 }), tie('value')), {
        maxLength: 4,
      }),
    }),
  ),
}))

/** A name as JSON, each of its UTF-16 units escaped where `spelling` says so. */
const toText = (name: string, spelling: readonly boolean[]): string => {
  const units = Array.from({ length: name.length }, (_, at) => name.charCodeAt(at))
  const texts = units.map((code, at) =>
    spelling[at % spelling.length] === true
      ? `\\u${code.toString(16).padStart(4, '0')}`
      : JSON.stringify(String.fromCharCode(code)).slice(1, -1),
  )
  return `"${texts.join('')}"`
}

const format = (value: Value): string => {
  if (value.kind === 'leaf') return value.text
  if (value.kind === 'array') return `[${value.elements.map(format).join(' , ')}]`
  const members = value.members.map(
    ([name, spelling, member]) => `${toText(name, spelling)}: ${format(member)}`,
  )
  return `{${members.join(',')}}`
}

const isRepeatedIn = (value: Value): boolean => {
  if (value.kind === 'leaf') return false
  if (value.kind === 'array') return value.elements.some(isRepeatedIn)
  const names = value.members.map(([name]) => name)
  return new Set(names).size < names.length || value.members.some(([, , one]) => isRepeatedIn(one))
}

t.test('any JSON, whichever characters of its names are escaped', t => {
  let repeatedCount = 0
  fc.assert(
    fc.property(anyValue, value => {
      const text = format(value)
      JSON.parse(text)
      const isRepeated = isRepeatedIn(value)
      if (isRepeated) repeatedCount++
      return hasRepeatedMember(text) === isRepeated
    }),
    { numRuns: 2_000 },
  )
  t.ok(repeatedCount > 100, `${repeatedCount} with a repeated member`)
  t.end()
})
