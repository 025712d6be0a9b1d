// The cluster: every node a cell, live. Opening one shows it at the side; picking some lets who may do so assign them.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Assign } from './assign.js';
import { Grid } from './grid.js';
import { groupsOf, labelsOf } from './groups.js';
import { html } from './html.js';
import { Moving } from './moving.js';
import { NodeView } from './node.js';
import { Nodes } from './nodes.js';
import { go } from './route.js';
import { scope } from './session.js';
import { markOf, states } from './states.js';
import { useSubject } from './subject.js';

function useNodes() {
	const nodes = useMemo(() => new Nodes(), []);
	useEffect(() => {
		nodes.run();
		return () => nodes.stop();
	}, [nodes]);
	useSubject(nodes.changed);
	return nodes;
}

function Legend({ list, only, setOnly }) {
	const count = new Map();
	for (const n of list)
		count.set(n.state, (count.get(n.state) ?? 0) + 1);
	return html`<div class="legend" role="group" aria-label="Show only nodes that are">
		${states.filter((s) => count.has(s.name)).map((s) => html`<button key=${s.name} type="button" aria-pressed=${only === s.name ? 'true' : 'false'}
			onClick=${() => setOnly(only === s.name ? '' : s.name)}><span class=${`swatch ${s.name}`} aria-hidden="true">${markOf(s.name)}</span>${s.name} <b>${count.get(s.name)}</b></button>`)}
	</div>`;
}

function GroupBy({ list, by, setBy }) {
	return html`<label class="by">Grouped by <select value=${by} onChange=${(e) => setBy(e.target.value)}>
		${['pool', 'state', ...labelsOf(list)].map((k) => html`<option key=${k} value=${k}>${k}</option>`)}</select></label>`;
}

function toggled(set, name) {
	const next = new Set(set);
	if (!next.delete(name))
		next.add(name);
	return next;
}

export function Cluster({ item }) {
	const nodes = useNodes();
	const { loading, error } = useSubject(nodes.state);
	const [by, setBy] = useState('pool');
	const [only, setOnly] = useState('');
	const [picked, setPicked] = useState(new Set());
	const list = [...nodes.all.values()];
	const groups = groupsOf(only ? list.filter((n) => n.state === only) : list, by);
	const orders = scope('nodes') === 'all';
	const there = [...picked].filter((name) => nodes.all.has(name));
	return html`<div class=${`cluster ${item ? 'beside' : ''}`}>
		<div class="bar"><h1>Cluster</h1><span class="quiet" role="status">${loading ? 'reading …' : list.length === 1 ? 'one node' : `${list.length} nodes`}</span>
			<${GroupBy} list=${list} by=${by} setBy=${setBy} /></div>
		<${Legend} list=${list} only=${only} setOnly=${setOnly} />
		${error && html`<p class="warning" role="alert">${error}</p>`}
		<${Grid} groups=${groups} picked=${picked} onPick=${(name) => orders && setPicked(toggled(picked, name))}
			onOpen=${(name) => go('cluster', name)} onNone=${() => setPicked(new Set())} />
		<${Moving} list=${list} />
		${orders && there.length > 0 && html`<${Assign} names=${there} onDone=${() => setPicked(new Set())} />`}
		${item && html`<${NodeView} key=${item} name=${item} known=${nodes.all.get(item)} picked=${picked.has(item)}
			onPick=${orders && (() => setPicked(toggled(picked, item)))} />`}
	</div>`;
}
