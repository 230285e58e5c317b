import subprocess,json,itertools,random,sys,os
V='/tmp/vxm-attack'
def mm(n,es,loops=()):
    es=[(max(a,b),min(a,b)) for a,b in es]+[(v,v) for v in loops]
    return "%%MatrixMarket matrix coordinate pattern symmetric\n%d %d %d\n"%(n,n,len(es))+"".join("%d %d\n"%e for e in es)
G={}
def add(name,n,es,loops=()):
    open(name+'.mtx','w').write(mm(n,es,loops)); G[name+'.mtx']=(set(range(1,n+1)),[e for e in es if e[0]!=e[1]])
add('empty',0,[]);add('one',1,[]);add('oneloop',1,[],[1]);add('loops',5,[],[1,2,3,4,5]);add('isol',7,[(2,5)])
add('star',40,[(1,i) for i in range(2,41)]);add('k50',50,list(itertools.combinations(range(1,51),2)))
add('path',100,[(i,i+1) for i in range(1,100)]);add('two',20,[(i,i%10+1) for i in range(1,11)]+[(10+i,10+i%10+1) for i in range(1,11)])
add('bip',30,[(a,b) for a in range(1,16) for b in range(16,31) if (a*b)%3]);add('kbip',34,[(a,b) for a in range(1,18) for b in range(18,35)])
random.seed(1);add('rand',200,list({tuple(sorted(random.sample(range(1,201),2))) for _ in range(700)}),[3,4])
ids=[random.getrandbits(64) for _ in range(60)]+[0,2**64-1]
es=[tuple(random.sample(ids,2)) for _ in range(150)]+[(ids[0],ids[0])]
open('snap.txt','w').write("# huge\n"+"".join("%d\t%d\n"%e for e in es)); G['snap.txt']=({v for e in es for v in e},[e for e in es if e[0]!=e[1]])
es=[(random.randint(1,50),random.randint(1,50)) for _ in range(200)]
open('d.col','w').write("c\np edge 55 200\n"+"".join("e %d %d\n"%e for e in es)); G['d.col']=(set(range(1,56)),[e for e in es if e[0]!=e[1]])
es=[(random.randint(1,50),random.randint(1,50)) for _ in range(90)]
open('dir.mtx','w').write("%%MatrixMarket matrix coordinate real general\n50 50 90\n"+"".join("%d %d %g\n"%(a,b,0 if i%7==0 else i) for i,(a,b) in enumerate(es))); G['dir.mtx']=(set(range(1,51)),[e for e in es if e[0]!=e[1]])
bad=0;runs=0;cols={}
def run(args):
    global runs;runs+=1
    p=subprocess.run([V]+args,capture_output=True,text=True,timeout=30)
    if p.returncode: print('RC',p.returncode,args,p.stderr);return None
    return json.loads(p.stdout)
full=sys.argv[1:]==['full']
configs=[(['mis','--priority',p]+(['--formulation',f] if f else []),'mis') for p in 'random degree resolve sorted sorted-id'.split() for f in ([None,'decide','count'] if p!='resolve' else [None,'count'])]
configs+=[(['color','--method',m]+(['--order',o] if o else []),'color') for m in 'jp mis is min-max hash neighbor-reduce'.split() for o in (None,'largest-degree-first','smallest-degree-last','random')]
for g,(vs,es) in G.items():
  for c,kind in configs:
    ref=None
    for fmt,th,seed in [('auto','1','0'),('csr','2','0'),('tiles','8','0'),('tiles','1','0'),('csr','8','0'),('auto','2','7')]:
        j=run([c[0],g]+c[1:]+['--format',fmt,'--threads',th,'--seed',seed,'--json','--out','o.out'])
        if j is None: bad+=1;continue
        L=open('o.out').read()
        key=(j['digest'],L)
        if seed=='0':
            if ref is None: ref=key
            elif ref!=key: print('DIFF',g,c,fmt,th);bad+=1
        if not j['valid']: print('INVALID',g,c)
        if kind=='mis':
            l=[int(x) for x in L.split()];S=set(l)
            ok=len(l)==len(S)==j['size'] and S<=vs and not any(a in S and b in S for a,b in es)
            nb={v for v in vs if v in S}
            for a,b in es:
                if a in S: nb.add(b)
                if b in S: nb.add(a)
            ok=ok and nb==vs
        else:
            d=[tuple(map(int,x.split())) for x in L.splitlines()];D=dict(d)
            ok=len(d)==len(D) and set(D)==vs and all(D[a]!=D[b] for a,b in es) and len(set(D.values()))==j['colors']
            if seed=='0' and fmt=='auto': cols.setdefault(g,{})[' '.join(c[2:])]=(j['colors'],min(D.values(),default=None),max(D.values(),default=None))
        if j['vertices']!=len(vs) or j['edges']!=len({frozenset(e) for e in es}): print('COUNT',g,j);bad+=1
        if not ok: print('WRONG',g,c,fmt,th,seed);bad+=1
print('runs',runs,'bad',bad)
for g in cols: print(g,cols[g])
