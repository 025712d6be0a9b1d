// Triggers: what submits workflows by itself, how often it did, what waits; and what may be done with each.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { post } from './api.js';
import { isAbout } from './flow_states.js';
import { Follow } from './follow.js';
import { html } from './html.js';
import { first, useOnce } from './once.js';
import { address } from './route.js';
import { may } from './session.js';
import { useSubject } from './subject.js';
import { took } from './words.js';

const LOOK_S = 10; // whether somebody watches for its files is no event
const looks = { active: 'running', paused: 'queued', stopped: 'failed' };
const acts = [
	{ name: 'pause', title: 'Pause', right: 'job_hold', when: (t) => t.state === 'active' },
	{ name: 'resume', title: 'Resume', right: 'job_hold', when: (t) => t.state !== 'active' },
	{ name: 'fire', title: 'Fire', right: 'job_submit', when: (t) => t.state === 'active' },
	{ name: 'delete', title: 'Delete', right: 'job_cancel', when: () => true },
];

const whenOf = ({ kind, when }) => (kind === 'file' ? when.file : kind === 'http' ? when.http : `every ${took(when.every_ms)}`);

function Row({ trigger, busy, onAct }) {
	const run = trigger.last?.at(-1)?.run;
	return html`<tr><td>${trigger.name}</td><td>${whenOf(trigger)}</td><td><span class=${`state ${looks[trigger.state] ?? ''}`}>${trigger.state}</span></td>
		<td>${trigger.n_fired}</td><td>${trigger.n_begun}</td><td>${trigger.n_waiting}</td><td>${run ? html`<a href=${address('workflows', String(run))}>${run}</a>` : ''}</td>
		<td>${trigger.user}</td><td>${trigger.re}</td><td>${trigger.why}</td>
		<td class="row-acts">${acts.filter((a) => may(a.right) && a.when(trigger)).map((a) => html`<button key=${a.name} type="button" aria-label=${`${a.title} ${trigger.name}`}
			disabled=${busy} onClick=${first(() => onAct(trigger.name, a.name))}>${a.title}</button>`)}</td></tr>`;
}

export function Triggers() {
	const list = useMemo(() => new Follow(async (ask) => (await ask('/v1/triggers')).triggers, isAbout, () => LOOK_S), []);
	const [said, setSaid] = useState('');
	const [busy, once] = useOnce();
	useEffect(() => {
		list.run();
		return () => list.stop();
	}, [list]);
	const triggers = useSubject(list.value) ?? [];
	const act = (name, what) => {
		setSaid('');
		once(() => post(`/v1/triggers/${encodeURIComponent(name)}/${what}`, {}).catch((e) => setSaid(e.message)).finally(() => list.read().catch(() => {})));
	};
	if (!triggers.length)
		return null;
	return html`<div><h2>Triggers</h2>${said && html`<p class="trouble" role="alert">${said}</p>`}
		<div class="wide" tabindex="0" role="region" aria-label="Triggers"><table class="jobs"><thead><tr>
			${['Trigger', 'When', 'State', 'Fired', 'Runs', 'Waiting', 'Last run', 'User', 'RE', 'Why', 'Acts'].map((t) => html`<th scope="col" key=${t}>${t}</th>`)}</tr></thead>
			<tbody>${triggers.map((t) => html`<${Row} key=${t.name} trigger=${t} busy=${busy} onAct=${act} />`)}</tbody></table></div></div>`;
}
