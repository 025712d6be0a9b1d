// Draws a workflow: boxes of tasks and files on a sheet, connected by hand or by key, checked while one draws, taken in and given out as files,
// submitted. What is drawn is kept in this tab.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useCheck } from './flow_check.js';
import { addFile, addTask, boxOf, change, connect, disconnect, drawingOf, emptyDoc, remove, tidy, titleOf, whyNot } from './flow_doc.js';
import { keepDraft, readDraft } from './flow_draft.js';
import { Fields } from './flow_fields.js';
import { Files } from './flow_files.js';
import { useHistory } from './flow_history.js';
import { Sheet } from './flow_sheet.js';
import { Submit } from './flow_submit.js';
import { SetTrigger } from './flow_trigger.js';
import { html } from './html.js';
import { go } from './route.js';

const GAP = 120, NUDGE = 20;

// Where a new box is not upon another.
function freePlace(doc, at) {
	const taken = (p) => [...doc.tasks, ...doc.files].some((b) => Math.abs(b.x - p.x) < GAP && Math.abs(b.y - p.y) < 50);
	const p = { x: Math.round(at.x), y: Math.round(at.y) };
	while (taken(p))
		p.x += GAP + 60;
	return p;
}

function useActs(h, look) {
	const [active, setActive] = useState('');
	const [chosen, setChosen] = useState('');
	const [linking, setLinking] = useState('');
	const [said, setSaid] = useState('');
	const add = (make, at) => {
		const here = boxOf(h.doc, active), where = at ?? (here ? { x: here.x, y: here.y + GAP } : look.current.middle());
		const [doc, key] = make(h.doc, freePlace(h.doc, where));
		h.change(() => doc);
		setActive(key);
		setTimeout(() => look.current?.show(key));
	};
	const link = (from, to) => {
		const why = whyNot(h.doc, from, to);
		setLinking('');
		setSaid(why || `${titleOf(boxOf(h.doc, from))} is connected to ${titleOf(boxOf(h.doc, to))}.`);
		if (!why)
			h.change((doc) => connect(doc, from, to));
	};
	const drop = () => {
		const [from, to] = chosen.split('>');
		if (chosen)
			h.change((doc) => disconnect(doc, from, to));
		else if (active)
			h.change((doc) => remove(doc, active));
		setChosen('');
		if (!chosen)
			setActive('');
	};
	const begin = () => {
		setLinking(active);
		setSaid(active ? `From ${titleOf(boxOf(h.doc, active))}: go to another box, and Enter connects them; Escape leaves it.` : '');
	};
	return { active, setActive: (key) => { setActive(key); setChosen(''); }, chosen, setChosen, linking, setLinking, said, setSaid, add, link, drop, begin };
}

const by = { ArrowLeft: [-NUDGE, 0], ArrowRight: [NUDGE, 0], ArrowUp: [0, -NUDGE], ArrowDown: [0, NUDGE] };

// True: the key was one of the drawing's. Letters count on the sheet alone, where nothing is typed.
function onKey(e, h, a) {
	const control = e.ctrlKey || e.metaKey, key = e.key.length === 1 ? e.key.toLowerCase() : e.key, here = boxOf(h.doc, a.active);
	if (control && key === 'z')
		(e.shiftKey ? h.redo : h.undo)();
	else if (control && key === 'y')
		h.redo();
	else if (control)
		return false;
	else if (e.altKey && by[key] && here)
		h.change((doc) => change(doc, here.key, { x: here.x + by[key][0], y: here.y + by[key][1] }));
	else if (key === 't')
		a.add(addTask);
	else if (key === 'f')
		a.add(addFile);
	else if (key === 'c' && here)
		a.begin();
	else if (a.linking && key === 'Enter')
		a.link(a.linking, a.active);
	else if (a.linking && key === 'Escape')
		a.setLinking('');
	else if (key === 'Delete' || key === 'Backspace')
		a.drop();
	else
		return false;
	return true;
}

function Tools({ h, a, look, onSubmit, onTrigger, ready }) {
	const bring = (doc) => {
		h.change(() => doc);
		a.setActive('');
		look.current.fit();
	};
	return html`<div class="tools" role="toolbar" aria-label="Drawing">
		<button type="button" onClick=${() => a.add(addTask)}>Task</button><button type="button" onClick=${() => a.add(addFile)}>File</button>
		<button type="button" disabled=${!a.active} aria-pressed=${a.linking ? 'true' : 'false'} onClick=${() => (a.linking ? a.setLinking('') : a.begin())}>Connect</button>
		<button type="button" disabled=${!a.active && !a.chosen} onClick=${a.drop}>Remove</button>
		<span class="rule"></span><button type="button" disabled=${!h.canUndo} onClick=${h.undo}>Undo</button><button type="button" disabled=${!h.canRedo} onClick=${h.redo}>Redo</button>
		<button type="button" disabled=${!h.doc.tasks.length} onClick=${() => { h.change(tidy); look.current.fit(); }}>Tidy</button>
		<button type="button" disabled=${!h.doc.tasks.length && !h.doc.files.length} onClick=${() => bring({ ...emptyDoc, next: h.doc.next })}>Empty</button>
		<span class="rule"></span><${Files} doc=${h.doc} onImport=${bring} onError=${a.setSaid} />
		<span class="rule"></span><button type="button" class="main" disabled=${!ready} onClick=${onSubmit}>Submit …</button><button type="button" disabled=${!ready} onClick=${onTrigger}>Trigger …</button></div>`;
}

function verdict(check) {
	if (check.empty)
		return 'There is no task yet.';
	if (check.error)
		return `It cannot be checked: ${check.error}`;
	if (check.old && !check.findings.length)
		return 'looking …';
	if (check.n)
		return check.n === 1 ? 'One thing is wrong:' : `${check.n} things are wrong:`;
	return `Nothing is wrong: ${check.n_tasks === 1 ? 'one task' : `${check.n_tasks} tasks`} on ${check.n_levels === 1 ? 'one level' : `${check.n_levels} levels`}, at most ${check.widest} at once.`;
}

function Findings({ check, onGo }) {
	return html`<section class="findings" aria-label="Check"><p role="status" class=${check.n ? 'bad' : 'quiet'}>${verdict(check)}</p>
		${check.findings.length > 0 && html`<ul>${check.findings.slice(0, 20).map((f, i) => html`<li key=${i}>${f.key ? html`<button type="button" class="plain" onClick=${() => onGo(f.key)}>${f.text}</button>` : f.text}</li>`)}</ul>`}</section>`;
}

export function Editor() {
	const h = useHistory(readDraft), look = useRef(null), a = useActs(h, look), check = useCheck(h.doc);
	const [Asks, setAsks] = useState(null); // the dialog that is open
	const bad = useMemo(() => new Set(check.findings.map((f) => f.key)), [check]);
	const { boxes, edges } = useMemo(() => drawingOf(h.doc, bad), [h.doc, bad]);
	useEffect(() => { keepDraft(h.doc); }, [h.doc]);
	const open = (key, pointer) => {
		if (a.linking && a.linking !== key)
			a.link(a.linking, key);
		else if (!pointer)
			document.querySelector('aside.node input')?.focus();
	};
	const show = (key) => {
		a.setActive(key);
		look.current.show(key);
	};
	return html`<div class="cluster beside">
		<div class="bar"><h1>Draw a workflow</h1><label class="by">Name <input value=${h.doc.name} maxlength="60" onChange=${(e) => h.change((doc) => ({ ...doc, name: e.target.value.trim() }))} /></label>
			<button type="button" onClick=${() => go('workflows')}>All runs</button></div>
		<${Tools} h=${h} a=${a} look=${look} ready=${!check.old && !check.n && !check.empty} onSubmit=${() => setAsks(() => Submit)} onTrigger=${() => setAsks(() => SetTrigger)} />
		<${Sheet} label="Drawing" describedby="flow-keys" draws boxes=${boxes} edges=${edges} active=${a.active} chosen=${a.chosen} linking=${a.linking} look=${look}
			onActive=${a.setActive} onOpen=${open} onChoose=${(key) => a.setChosen(key ?? '')} onConnect=${a.link} onAdd=${(at) => a.add(addTask, at)}
			onMove=${(key, x, y) => h.change((doc) => change(doc, key, { x, y }))} onKey=${(e) => onKey(e, h, a)} />
		<p role="status" class="notice" hidden=${!a.said}>${a.said}</p>
		<${Findings} check=${check} onGo=${show} />
		<p class="quiet" id="flow-keys">Keys on the sheet: T a task, F a file, C connects from the box where you are, Enter opens its fields, Delete removes it, arrows, page down and up go to others, Alt and arrows move it,
			Ctrl+Z and Ctrl+Y undo and redo, + − 0 scale. With a mouse: twice on the sheet makes a task, the ring below a box is pulled to another.</p>
		<${Fields} key=${a.active} doc=${h.doc} active=${a.active} act=${h.change} findings=${check.findings.filter((f) => a.active && f.key === a.active)} onRemoved=${() => a.setActive('')} />
		${Asks && html`<${Asks} doc=${h.doc} onClose=${() => setAsks(null)} />`}
	</div>`;
}
