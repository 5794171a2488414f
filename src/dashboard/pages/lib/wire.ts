import type { InferOutput } from 'valibot'
import type * as incidentShapes from '../../api/incidents/incident-shapes.js'
import type { access as operatorAccess } from '../../api/operator/access-shapes.js'
import type * as operatorShapes from '../../api/operator/operator-shapes.js'
import type * as serviceShapes from '../../api/operator/service-shapes.js'
import type * as overviewShapes from '../../api/overview/overview-shapes.js'
import type * as sessionShapes from '../../auth/session-shapes.js'
import type * as keyShapes from '../../api/keys/shapes.js'
import type { members } from '../../api/members/shapes.js'
import type * as limitShapes from '../../api/limit-shapes.js'
import type * as shapes from '../../api/shapes.js'
import type { submissions, summary } from '../../api/submissions/shapes.js'
import type * as alertShapes from '../../api/webhook/alert-shapes.js'
import type * as webhookShapes from '../../api/webhook/shapes.js'
import type { failures } from '../../api/usage/failure-shapes.js'
import type * as usageShapes from '../../api/usage/shapes.js'

export type Session = InferOutput<typeof shapes.session>
export type ListedSession = InferOutput<typeof sessionShapes.sessions>['sessions'][number]
export type Overview = InferOutput<typeof overviewShapes.overview>
export type OverviewScope = Overview['scopes'][number]
export type Incident = InferOutput<typeof incidentShapes.incidents>['incidents'][number]
export type Access = InferOutput<typeof shapes.accesses>['accesses'][number]
export type ServiceUsage = InferOutput<typeof serviceShapes.serviceUsage>
export type TopAccess = InferOutput<typeof serviceShapes.topAccesses>['accesses'][number]
export type OperatorAccessView = InferOutput<typeof operatorAccess>
export type FoundAccess = InferOutput<typeof operatorShapes.accesses>['accesses'][number]
export type OperatorAudit = InferOutput<typeof operatorShapes.audit>
export type LanePerformance = InferOutput<typeof operatorShapes.lanes>['lanes'][number]
export type LaneState = InferOutput<typeof operatorShapes.lanes>['states'][number]
export type Panel = InferOutput<typeof shapes.panel>
/** The panel of an active token. */
export type ActivePanel = Exclude<Panel, { token: null }>
export type SubmissionRoute = ActivePanel['submissionRoutes'][number]
/** The token and its URLs. */
export type TokenSecret = InferOutput<typeof shapes.revealed>
/** What a location answered to a call with the token. */
export type Checked = InferOutput<typeof shapes.checked>
export type TokenUsage = InferOutput<typeof shapes.tokenUsage>
export type AccessUsage = InferOutput<typeof limitShapes.accessUsage>
export type Warning = InferOutput<typeof limitShapes.warnings>['warnings'][number]
export type UsageMinute = TokenUsage['minutes'][number]
export type Failures = InferOutput<typeof failures>
export type FailedRequest = Failures['failures'][number]
export type FailureGroup = Failures['groups'][number]
export type RangeUsage = InferOutput<typeof usageShapes.rangeUsage>
export type MethodUsage = RangeUsage['methods'][number]
export type Client = InferOutput<typeof shapes.clients>['clients'][number]
export type LocationState = InferOutput<typeof shapes.locations>['locations'][number]
export type Machine = InferOutput<typeof shapes.machines>['machines'][number]
export type Effect = NonNullable<InferOutput<typeof shapes.removal>>
export type Submissions = InferOutput<typeof submissions>
export type SubmissionSummary = InferOutput<typeof summary>
export type Submission = Submissions['submissions'][number]
export type Webhook = InferOutput<typeof webhookShapes.list>['webhooks'][number]
export type AlertRule = InferOutput<typeof alertShapes.rules>['rules'][number]
/** A rule that is set; a new one has no id yet. */
export type WantedAlertRule = Omit<AlertRule, 'ruleId'> & Partial<Pick<AlertRule, 'ruleId'>>
export type Member = InferOutput<typeof members>['members'][number]
export type ApiKey = InferOutput<typeof keyShapes.keys>['keys'][number]
export type WebhookDelivery = Webhook['deliveries'][number]
