// A run of a workflow: how far it is, its tasks drawn and coloured as they go on, what each printed, and the orders that who looks may give.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { post, text } from './api.js';
import { keepCopy } from './flow_draft.js';
import { layOutFlow, sizes } from './flow_layout.js';
import { Progress } from './flow_progress.js';
import { Sheet } from './flow_sheet.js';
import { isAbout, lookOf, lookS, taskStates } from './flow_states.js';
import { TaskView } from './flow_task.js';
import { readWfFormat } from './flow_wfformat.js';
import { Follow } from './follow.js';
import { html } from './html.js';
import { go } from './route.js';
import { may } from './session.js';
import { useSubject } from './subject.js';
import { moment, took } from './words.js';

const DRAWN_MAX = 5000; // tasks
const PORTION = 1000;
const FOUND_SHOWN = 8;

async function readRun(ask, id) {
	const tasks = [];
	let run = { last: 0, n_tasks: 1 };
	while (run.last < run.n_tasks && run.last < DRAWN_MAX) {
		const at = run.last;
		run = await ask(`/v1/workflows/${id}?after=${at}&limit=${PORTION}`);
		tasks.push(...run.tasks);
		if (run.last === at) // its text cannot be read: there are no tasks
			break;
	}
	return { ...run, tasks: new Map(tasks.map((t) => [t.id, t])) };
}

function useRun(id) {
	const follow = useMemo(() => new Follow((ask) => readRun(ask, id), isAbout, (run) => lookS([run])), [id]);
	const [flow, setFlow] = useState(null);
	const run = useSubject(follow.value);
	const drawn = run && run.n_tasks <= DRAWN_MAX && !run.error;
	useEffect(() => {
		follow.run();
		return () => follow.stop();
	}, [follow]);
	useEffect(() => {
		if (drawn)
			text(`/v1/workflows/${id}/text`, { watch: true }).then((t) => setFlow(readWfFormat(JSON.parse(t))), () => {});
	}, [id, drawn]);
	return { follow, run, flow, error: useSubject(follow.error) };
}

function Facts({ run }) {
	const rows = [
		['Status', html`<span class=${`state ${lookOf(run.status)}`}>${run.status}</span>`], ['Why', run.why], ['User', run.user], ['RE', run.re],
		['Submitted', moment(run.submitted_ms)], ['Ended', moment(run.ended_ms)], ['Took', run.ended_ms > 0 && took(run.ended_ms - run.submitted_ms)],
		['Ended by', run.cancelled_by], ['Done', `${run.n_done} of ${run.n_tasks} tasks, begun ${run.n_runs} times`], ['Error', run.error],
	];
	return html`<dl class="short">${rows.filter(([, v]) => v).map(([k, v]) => html`<div key=${k}><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>`;
}

function Levels({ levels }) {
	return html`<details open=${levels.length <= 12}><summary>By level</summary><ol class="levels">${levels.map((l) => html`<li key=${l.level}><span>Level ${l.level}</span>
		<${Progress} of=${l} /><span>${l.done} of ${l.n_tasks}</span></li>`)}</ol></details>`;
}

// Only what the head would do now, and only for who may.
function Orders({ run, onError }) {
	const at = run.status, allowed = (what) => run.may?.includes(what);
	const acts = [
		at === 'active' && allowed('hold') && ['hold', 'Hold it', ''], at === 'held' && allowed('hold') && ['release', 'Release it', 'main'],
		['failed', 'cancelled'].includes(at) && allowed('hold') && ['resume', 'Resume it', 'main'],
		['active', 'held'].includes(at) && allowed('cancel') && ['cancel', 'Cancel it', 'danger'],
	].filter(Boolean);
	const order = (what) => post(`/v1/workflows/${run.id}/${what}`, {}).then(() => onError(''), (e) => onError(e.message));
	return acts.map(([what, word, look]) => html`<button key=${what} type="button" class=${look} onClick=${() => order(what)}>${word}</button>`);
}

function Legend({ run, only, setOnly }) {
	return html`<div class="legend" role="group" aria-label="Show only tasks that are">
		${taskStates.filter((s) => run[`n_${s.name}`]).map((s) => html`<button key=${s.name} type="button" aria-pressed=${only === s.name ? 'true' : 'false'}
			onClick=${() => setOnly(only === s.name ? '' : s.name)}><span class=${`swatch flow-${s.name}`} aria-hidden="true">${s.mark}</span>${s.name} <b>${run[`n_${s.name}`]}</b></button>`)}</div>`;
}

// Goes to a task by its name: among a thousand one does not look for long.
function Find({ flow, onGo }) {
	const [word, setWord] = useState('');
	const found = word ? flow.tasks.filter((t) => t.id.includes(word) || t.name.includes(word)) : [];
	return html`<div class="find"><label>Find <input type="search" value=${word} onInput=${(e) => setWord(e.target.value)} onKeyDown=${(e) => e.key === 'Enter' && found[0] && onGo(found[0].id)} /></label>
		${word && html`<span role="status" class="quiet">${found.length || 'none'} found</span> ${found.slice(0, FOUND_SHOWN).map((t) => html`<button key=${t.id} type="button" onClick=${() => onGo(t.id)}>${t.id}</button>`)}`}</div>`;
}

function useDrawing(flow) {
	return useMemo(() => {
		if (!flow)
			return null;
		const edges = flow.tasks.flatMap((t) => t.parents.map((p) => ({ key: `${p}>${t.id}`, from: p, to: t.id })));
		const boxes = flow.tasks.map((t) => ({ key: t.id, kind: 'task', ...sizes.task, title: t.id, sub: t.name === t.id ? '' : t.name }));
		const places = layOutFlow(boxes, edges);
		return { edges, boxes: boxes.map((b) => ({ ...b, ...places.get(b.key) })) };
	}, [flow]);
}

function say(task, told) {
	return [task.title, told?.state, told?.node && `on ${told.node}`, task.sub].filter(Boolean).join(', ');
}

function Drawn({ run, flow, drawing, task, setTask }) {
	const [active, setActive] = useState('');
	const [only, setOnly] = useState('');
	const look = useRef(null);
	const boxes = useMemo(() => drawing.boxes.map((b) => {
		const told = run.tasks.get(b.key);
		return { ...b, state: !only || told?.state === only ? told?.state : undefined, words: say(b, told) };
	}), [drawing, run, only]);
	const find = (id) => {
		setActive(id);
		setTask(id);
		look.current.show(id);
	};
	return html`<div class="bar"><${Legend} run=${run} only=${only} setOnly=${setOnly} /><${Find} flow=${flow} onGo=${find} /></div>
		<${Sheet} label="Tasks" describedby="flow-keys" boxes=${boxes} edges=${drawing.edges} active=${active} onActive=${setActive} onOpen=${setTask} look=${look} />
		<p class="quiet" id="flow-keys">Arrows go from task to task, page down and up through all, Enter opens one; + and − scale, 0 shows all.</p>
		${task && flow.byId.has(task) && html`<${TaskView} key=${task} run=${run.id} task=${flow.byId.get(task)} told=${run.tasks.get(task)} mayRead=${run.may?.includes('output')} onClose=${() => setTask('')} />`}`;
}

export function Run({ id }) {
	const { run, flow, error } = useRun(id);
	const [said, setSaid] = useState('');
	const [task, setTask] = useState('');
	const drawing = useDrawing(flow);
	const copy = () => {
		keepCopy(flow);
		go('workflows', 'draw');
	};
	return html`<div class=${`cluster ${task ? 'beside' : ''}`}>
		<div class="bar"><h1>Workflow ${id}${run?.name && ` · ${run.name}`}</h1>
			<span class="by">${run && html`<${Orders} run=${run} onError=${setSaid} />`} ${flow && may('job_submit') && html`<button type="button" onClick=${copy}>Draw a copy</button>`}
			<button type="button" onClick=${() => go('workflows')}>All runs</button></span></div>
		${error && html`<p class="warning" role="alert">${error}</p>`}
		${said && html`<p class="trouble" role="alert">${said}</p>`}
		${!run && !error && html`<p role="status">reading …</p>`}
		${run && html`<div class="columns"><${Facts} run=${run} />${run.levels && html`<${Levels} levels=${run.levels} />`}</div>`}
		${run?.n_tasks > DRAWN_MAX && html`<p class="notice">More than ${DRAWN_MAX} tasks are not drawn.</p>`}
		${run && drawing && html`<${Drawn} run=${run} flow=${flow} drawing=${drawing} task=${task} setTask=${setTask} />`}
	</div>`;
}
