import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { clusterFileSchema } from '../../../src/cluster/schema.js';
import { cookbookSchema } from '../../../src/cookbook/schema.js';
import { ROOT } from '../../support/build.js';
import { schemaTexts } from '../../tools/schemas.js';

type Json = Readonly<Record<string, unknown>>;

const jsonOf = (name: string): Json => JSON.parse(schemaTexts().get(name) ?? '{}') as Json;

/** Every schema inside a schema. */
const within = (value: unknown): readonly Json[] => {
  if (Array.isArray(value)) return value.flatMap(within);
  if (typeof value !== 'object' || value === null) return [];
  return [value as Json, ...Object.values(value).flatMap(within)];
};

const cluster = {
  name: 'prod',
  controlPlanes: { hosts: 'cp[1-3]' },
  etcd: { endpoints: ['https://etcd1:2379'], password: { file: './x' }, user: 'u' },
  api: { kubeconfig: './k' },
  services: {
    apiserver: { command: { restart: ['x', '{host}'], pidFile: '/run/x' } },
    controllerManager: { staticPod: '/etc/kubernetes/manifests/kube-controller-manager.yaml' },
  },
  issuer: { type: 'cfssl', url: 'https://pki', authKey: { env: 'KEY' } },
};

const cookbook = {
  name: 'mine',
  description: 'd',
  inputs: { force: { type: 'boolean', default: false } },
  steps: [
    { uses: 'sa-keys/issue', when: true, with: { a: [1] }, gate: { expression: 'true', message: 'm' } },
  ],
};

describe('the published JSON Schemas', () => {
  it.each([...schemaTexts()])(
    '%s is what the program checks with (npm run schemas writes it anew)',
    (name, text) => {
      expect(readFileSync(join(ROOT, 'schemas', name), 'utf8')).toBe(text);
    },
  );

  it.each([...schemaTexts().keys()])(
    '%s names itself, knows all its keys, and its patterns are sound',
    (name) => {
      const json = jsonOf(name);
      expect(json['$schema']).toBe('https://json-schema.org/draft/2020-12/schema');
      expect(json['$id']).toMatch(/^urn:certroll:/);
      expect(json['title']).toMatch(/^certroll /);
      for (const schema of within(json)) {
        if (typeof schema['pattern'] === 'string')
          expect(new RegExp(schema['pattern'], 'u')).toBeInstanceOf(RegExp);
        if (schema['type'] === 'object' && 'properties' in schema && 'required' in schema)
          expect(schema['additionalProperties']).toBe(false);
      }
    },
  );

  it.each([
    ['cluster.schema.json', clusterFileSchema, cluster],
    ['cookbook.schema.json', cookbookSchema, cookbook],
  ])('%s, read back, takes and refuses what the program does', (name, schema, good) => {
    const back = z.fromJSONSchema(jsonOf(name));
    const wrong: readonly unknown[] = [
      null,
      [],
      {},
      { ...good, name: 'Not A Name' },
      { ...good, unknown: 1 },
      ...Object.keys(good).map((key) => ({ ...good, [key]: 5 })),
      ...Object.keys(good).map((key) => ({ ...good, [key]: undefined })),
    ];
    for (const value of [good, ...wrong]) {
      // What a file cannot hold is not there.
      const plain: unknown = JSON.parse(JSON.stringify(value));
      expect({ plain, ok: back.safeParse(plain).success }).toEqual({
        plain,
        ok: schema.safeParse(plain).success,
      });
    }
  });

  it.each(readdirSync(join(ROOT, 'cookbooks')))('the shipped cookbook %s fits', (file) => {
    const text = readFileSync(join(ROOT, 'cookbooks', file), 'utf8');
    expect(z.fromJSONSchema(jsonOf('cookbook.schema.json')).safeParse(parse(text)).error).toBeUndefined();
    expect(text).toMatch(/^# yaml-language-server: \$schema=\.\.\/schemas\/cookbook\.schema\.json\n/);
  });
});
