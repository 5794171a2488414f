import type { fromJSON } from '@grpc/proto-loader'

type Protocol = Parameters<typeof fromJSON>[0]

/**
 * The part of etcd's published protocol (api/etcdserverpb/rpc.proto, the same from 3.4 to 3.6) that
 * is used here, as protobufjs reads it: a message is its fields with their types and numbers.
 */
type Fields = Readonly<Record<string, readonly [type: string, id: number, rule?: 'repeated']>>

const message = (fields: Fields, oneof: Readonly<Record<string, readonly string[]>> = {}) => ({
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, [type, id, rule]]) => [
      name,
      rule === undefined ? { type, id } : { type, id, rule },
    ]),
  ),
  oneofs: Object.fromEntries(Object.entries(oneof).map(([name, of]) => [name, { oneof: [...of] }])),
})

const service = (
  methods: Readonly<Record<string, readonly [request: string, answer: string]>>,
) => ({
  methods: Object.fromEntries(
    Object.entries(methods).map(([name, [requestType, responseType]]) => [
      name,
      { requestType, responseType, comment: '' },
    ]),
  ),
})

const header = ['ResponseHeader', 1] as const
const answer = message({ header })

const etcdserverpb: NonNullable<Protocol['nested']> = {
  KV: service({
    Range: ['RangeRequest', 'RangeResponse'],
    Txn: ['TxnRequest', 'TxnResponse'],
    Compact: ['CompactionRequest', 'CompactionResponse'],
  }),
  Watch: {
    methods: {
      Watch: {
        requestType: 'WatchRequest',
        responseType: 'WatchResponse',
        requestStream: true,
        responseStream: true,
        comment: '',
      },
    },
  },
  Auth: service({
    AuthEnable: ['AuthEnableRequest', 'AuthResponse'],
    UserAdd: ['AuthUserAddRequest', 'AuthResponse'],
    UserDelete: ['AuthUserDeleteRequest', 'AuthResponse'],
    UserGrantRole: ['AuthUserGrantRoleRequest', 'AuthResponse'],
    UserRevokeRole: ['AuthUserRevokeRoleRequest', 'AuthResponse'],
    RoleAdd: ['AuthRoleAddRequest', 'AuthResponse'],
    RoleDelete: ['AuthRoleDeleteRequest', 'AuthResponse'],
    RoleGrantPermission: ['AuthRoleGrantPermissionRequest', 'AuthResponse'],
  }),
  ResponseHeader: message({ revision: ['int64', 3] }),
  KeyValue: message({
    key: ['string', 1],
    create_revision: ['int64', 2],
    mod_revision: ['int64', 3],
    value: ['bytes', 5],
  }),
  RangeRequest: message({
    key: ['string', 1],
    range_end: ['string', 2],
    limit: ['int64', 3],
    revision: ['int64', 4],
    count_only: ['bool', 9],
  }),
  RangeResponse: message({ header, kvs: ['KeyValue', 2, 'repeated'], more: ['bool', 3] }),
  PutRequest: message({ key: ['string', 1], value: ['bytes', 2] }),
  DeleteRangeRequest: message({ key: ['string', 1], range_end: ['string', 2] }),
  RequestOp: message(
    {
      request_range: ['RangeRequest', 1],
      request_put: ['PutRequest', 2],
      request_delete_range: ['DeleteRangeRequest', 3],
    },
    { request: ['request_range', 'request_put', 'request_delete_range'] },
  ),
  ResponseOp: message({ response_range: ['RangeResponse', 1] }),
  Compare: message(
    {
      // EQUAL and GREATER of CompareResult.
      result: ['int32', 1],
      // CREATE, MOD and VALUE of CompareTarget.
      target: ['int32', 2],
      key: ['string', 3],
      create_revision: ['int64', 5],
      mod_revision: ['int64', 6],
      value: ['bytes', 7],
    },
    { target_union: ['create_revision', 'mod_revision', 'value'] },
  ),
  TxnRequest: message({
    compare: ['Compare', 1, 'repeated'],
    success: ['RequestOp', 2, 'repeated'],
    failure: ['RequestOp', 3, 'repeated'],
  }),
  TxnResponse: message({
    header,
    succeeded: ['bool', 2],
    responses: ['ResponseOp', 3, 'repeated'],
  }),
  CompactionRequest: message({ revision: ['int64', 1] }),
  CompactionResponse: answer,
  WatchCreateRequest: message({
    key: ['string', 1],
    range_end: ['string', 2],
    start_revision: ['int64', 3],
  }),
  WatchRequest: message(
    { create_request: ['WatchCreateRequest', 1] },
    { request_union: ['create_request'] },
  ),
  WatchResponse: message({
    header,
    created: ['bool', 3],
    canceled: ['bool', 4],
    compact_revision: ['int64', 5],
    cancel_reason: ['string', 6],
    events: ['Event', 11, 'repeated'],
  }),
  // 0 is a put, 1 a deletion.
  Event: message({ type: ['int32', 1], kv: ['KeyValue', 2] }),
  UserAddOptions: message({ no_password: ['bool', 1] }),
  AuthEnableRequest: message({}),
  AuthUserAddRequest: message({ name: ['string', 1], options: ['UserAddOptions', 3] }),
  AuthUserDeleteRequest: message({ name: ['string', 1] }),
  AuthUserGrantRoleRequest: message({ user: ['string', 1], role: ['string', 2] }),
  AuthUserRevokeRoleRequest: message({ name: ['string', 1], role: ['string', 2] }),
  AuthRoleAddRequest: message({ name: ['string', 1] }),
  AuthRoleDeleteRequest: message({ role: ['string', 1] }),
  // 0 reads, 1 writes, 2 does both.
  Permission: message({ permType: ['int32', 1], key: ['string', 2], range_end: ['string', 3] }),
  AuthRoleGrantPermissionRequest: message({ name: ['string', 1], perm: ['Permission', 2] }),
  AuthResponse: answer,
}

/** What `fromJSON` of @grpc/proto-loader takes. */
export const PROTOCOL: Protocol = { nested: { etcdserverpb: { nested: etcdserverpb } } }
