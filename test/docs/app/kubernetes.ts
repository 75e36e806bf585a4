// The manifests of the docs, field by field as the references of Kubernetes and KEDA have them. A field that is misspelled
// or stands in another place is refused. Only the fields that the docs use are here.
import { z } from 'zod';

const labels = z.record(z.string(), z.string());
const metadata = z.strictObject({ name: z.string().regex(/^[a-z0-9-]+$/) });
const quantity = z.string().regex(/^\d+(?:\.\d+)?(?:m|Ki|Mi|Gi)?$/);
const amounts = z.partialRecord(z.enum(['cpu', 'memory']), quantity);
const target = z.strictObject({
  apiVersion: z.literal('apps/v1').optional(),
  kind: z.literal('Deployment').optional(),
  name: z.string(),
});

const probe = z.strictObject({
  exec: z.strictObject({ command: z.array(z.string()).min(1) }),
  periodSeconds: z.int().min(1).optional(),
  failureThreshold: z.int().min(1).optional(),
});

const container = z.strictObject({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()).min(1),
  env: z.array(
    z.strictObject({
      name: z.string(),
      valueFrom: z.strictObject({ secretKeyRef: z.strictObject({ name: z.string(), key: z.string() }) }),
    }),
  ),
  startupProbe: probe,
  readinessProbe: probe,
  resources: z.strictObject({ requests: amounts, limits: amounts }),
});

const deployment = z.strictObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('Deployment'),
  metadata,
  spec: z.strictObject({
    replicas: z.int().min(0),
    selector: z.strictObject({ matchLabels: labels }),
    template: z.strictObject({
      metadata: z.strictObject({ labels }),
      spec: z.strictObject({
        terminationGracePeriodSeconds: z.int().min(0),
        containers: z.array(container).min(1),
      }),
    }),
  }),
});

const scaledObject = z.strictObject({
  apiVersion: z.literal('keda.sh/v1alpha1'),
  kind: z.literal('ScaledObject'),
  metadata,
  spec: z.strictObject({
    scaleTargetRef: target,
    minReplicaCount: z.int().min(0),
    maxReplicaCount: z.int().min(1),
    cooldownPeriod: z.int().min(0),
    triggers: z.array(
      z.strictObject({
        type: z.literal('metrics-api'),
        metricType: z.enum(['AverageValue', 'Value']),
        // All values are text, also numbers.
        metadata: z.strictObject({
          url: z.url(),
          valueLocation: z.string(),
          targetValue: z.string().regex(/^\d+$/),
        }),
      }),
    ),
  }),
});

const autoscaler = z.strictObject({
  apiVersion: z.literal('autoscaling/v2'),
  kind: z.literal('HorizontalPodAutoscaler'),
  metadata,
  spec: z.strictObject({
    scaleTargetRef: target.required(),
    minReplicas: z.int().min(1),
    maxReplicas: z.int().min(1),
    behavior: z.strictObject({
      scaleDown: z.strictObject({ stabilizationWindowSeconds: z.int().min(0).max(3_600) }),
    }),
    metrics: z.array(
      z.strictObject({
        type: z.literal('External'),
        external: z.strictObject({
          metric: z.strictObject({ name: z.string(), selector: z.strictObject({ matchLabels: labels }) }),
          target: z.strictObject({ type: z.literal('Value'), value: quantity }),
        }),
      }),
    ),
  }),
});

export const MANIFESTS = { workers: deployment, keda: scaledObject, hpa: autoscaler };
