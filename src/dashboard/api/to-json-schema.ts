import * as v from 'valibot'

/** A JSON Schema as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>

type Inner = { readonly schema: v.GenericSchema; readonly isOptional: boolean }

const unwrap = (schema: v.GenericSchema): Inner =>
  schema.type === 'optional' && 'wrapped' in schema
    ? { schema: schema.wrapped as v.GenericSchema, isOptional: true }
    : { schema, isOptional: false }

/** The checks of a pipe that a JSON Schema can say. */
const checksOf = (schema: v.GenericSchema): JsonSchema => {
  if (!('pipe' in schema)) return {}
  const found: Record<string, unknown> = {}
  for (const step of schema.pipe as readonly { type: string; requirement?: unknown }[]) {
    if (step.type === 'min_value') found['minimum'] = step.requirement
    else if (step.type === 'max_value') found['maximum'] = step.requirement
    else if (step.type === 'min_length') found['minLength'] = step.requirement
    else if (step.type === 'max_length') found['maxLength'] = step.requirement
    else if (step.type === 'non_empty') found['minLength'] = 1
    else if (step.type === 'integer') found['type'] = 'integer'
    else if (step.type === 'regex' && step.requirement instanceof RegExp)
      found['pattern'] = step.requirement.source
  }
  return found
}

const objectOf = (entries: Readonly<Record<string, v.GenericSchema>>, isStrict: boolean) => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => [name, toJsonSchema(entry)]),
  ),
  required: Object.entries(entries)
    .filter(([, entry]) => !unwrap(entry).isOptional)
    .map(([name]) => name),
  ...(isStrict ? { additionalProperties: false } : {}),
})

const shapeOf = (schema: v.GenericSchema): JsonSchema => {
  // Which fields a schema of that type has is valibot's promise, not its generic type's.
  const has = schema as unknown as {
    entries: Readonly<Record<string, v.GenericSchema>>
    item: v.GenericSchema
    wrapped: v.GenericSchema
    options: readonly unknown[]
    literal: unknown
  }
  switch (schema.type) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return { type: schema.type }
    case 'array':
      return { type: 'array', items: toJsonSchema(has.item) }
    case 'picklist':
      return { type: 'string', enum: has.options }
    case 'literal':
      return { const: has.literal }
    case 'nullable':
      return { anyOf: [toJsonSchema(has.wrapped), { type: 'null' }] }
    case 'union':
      return { anyOf: (has.options as readonly v.GenericSchema[]).map(toJsonSchema) }
    case 'object':
    case 'strict_object':
      return objectOf(has.entries, schema.type === 'strict_object')
    default:
      throw new Error(`no JSON Schema is known for valibot's ${schema.type}`)
  }
}

/**
 * What a valibot schema of a route demands, as JSON Schema. Throws for kinds that no route uses
 * yet.
 */
export const toJsonSchema = (given: v.GenericSchema): JsonSchema => {
  const { schema } = unwrap(given)
  const said = v.getMetadata(schema)['jsonSchema']
  const description = v.getDescription(schema)
  return {
    ...(typeof said === 'object' ? said : { ...shapeOf(schema), ...checksOf(schema) }),
    ...(description === undefined ? {} : { description }),
  }
}
