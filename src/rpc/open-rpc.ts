import { describeErrors } from '../shared/describe/describe-errors.js'
import type { Example, MethodDescription } from '../shared/describe/method-description.js'
import type { ErrorName } from '../shared/errors.js'

/** Release of the OpenRPC specification that the document follows. */
const OPEN_RPC = '1.3.2'

/** Errors that every call may have. Over HTTP the limits of the access are a 429 instead. */
const ANY_CALL: readonly ErrorName[] = ['invalidRequest', 'methodNotFound', 'internal', 'overLimit']

const toExample = ({ params }: MethodDescription, example: Example) => ({
  name: 'an example',
  params: example.params.map((value, index) => ({ name: params[index]?.name ?? 'options', value })),
  result: { name: 'result', value: example.result },
})

const toMethod = (method: MethodDescription) => {
  const { name, summary, params, result, errors, example, isSocketOnly, notification } = method
  return {
    name,
    summary,
    paramStructure: 'by-position',
    params: params.map(({ name, isRequired, schema }) => ({ name, required: isRequired, schema })),
    result: { name: 'result', schema: result },
    errors: describeErrors([...errors, ...ANY_CALL]),
    ...(example === undefined ? {} : { examples: [toExample(method, example)] }),
    'x-transports': isSocketOnly === true ? ['websocket'] : ['http', 'websocket'],
    ...(notification === undefined ? {} : { 'x-notification': notification }),
  }
}

/** JSON of the OpenRPC document of methods. */
export const formatOpenRpc = (methods: Iterable<MethodDescription>): string => {
  const document = {
    openrpc: OPEN_RPC,
    info: {
      title: 'Slotline',
      description:
        'Methods of the RPC URL and of its WebSocket. Every other one is forwarded, where that is configured. Methods of a relay route are those of its HTTP route with a prefix.',
      version: '1',
    },
    methods: Array.from(methods, toMethod),
  }
  const text = JSON.stringify(document, (_name, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  )
  // No text of the document looks like one.
  return text.replace(/"(\d{17,20})n"/g, '$1')
}
